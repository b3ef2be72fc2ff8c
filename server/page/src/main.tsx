import "./without-eval";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./layout/App";
import { applyTheme } from "./layout/theme";
import "./styles/index.css";

applyTheme();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
