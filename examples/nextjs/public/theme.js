// Runs before the first paint, so the page never flashes in the wrong theme.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // The browser blocks storage: use the system's theme.
}
