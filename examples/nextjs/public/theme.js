// Runs before the first paint, so that nobody who has chosen a theme sees the other one.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // A browser that stores nothing has the theme of the system.
}
