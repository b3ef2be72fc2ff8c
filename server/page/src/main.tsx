import "./without-eval";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./layout/App";
import { applyTheme } from "./layout/theme";
import "./styles/index.css";

applyTheme();
// A boundary shows what it caught in another form. The console says why.
createRoot(document.getElementById("root")!, { onCaughtError: (error) => console.error(error) }).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
