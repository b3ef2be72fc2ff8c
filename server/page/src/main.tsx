import "./without-eval";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./layout/App";
import { applyTheme } from "./layout/theme";
import "./styles/index.css";

applyTheme();
// What a boundary has caught is shown in another form; who looks for why finds it among the console's details.
createRoot(document.getElementById("root")!, { onCaughtError: (error) => console.debug(error) }).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
