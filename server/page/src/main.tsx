import "./components/without-eval";
import { lazy, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./layout/App";
import "./index.css";

const RecordedRuns = lazy(() => import("./recorded/RecordedRuns"));

/** On the site of the documentation, which has recorded runs and no server. */
const runs = document.querySelector<HTMLMetaElement>("meta[name=recorded-runs]")?.content;

// A boundary shows what it caught in another form. The console says why.
createRoot(document.getElementById("root")!, { onCaughtError: (error) => console.error(error) }).render(
  <StrictMode>{runs === undefined ? <App /> : <RecordedRuns runs={JSON.parse(runs)} />}</StrictMode>,
);
