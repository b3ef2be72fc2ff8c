import "./components/without-eval";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./layout/App";
import "./index.css";

// A boundary shows what it caught in another form. The console says why.
createRoot(document.getElementById("root")!, { onCaughtError: (error) => console.error(error) }).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
