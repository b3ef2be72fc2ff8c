import "./components/without-eval";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Broken } from "./components/layout/Broken";
import { Boundary } from "./components/ui/boundary";
import { later } from "./components/ui/later";
import { App } from "./layout/App";
import "./index.css";

const RecordedRuns = later(() => import("./recorded/RecordedRuns"));

/** On the site of the documentation, which has recorded runs and no server. */
const runs = document.querySelector<HTMLMetaElement>("meta[name=recorded-runs]")?.content;

// A boundary shows what it caught in another form. The console says why.
createRoot(document.getElementById("root")!, { onCaughtError: (error) => console.error(error) }).render(
  <StrictMode>
    <Boundary of={undefined} otherwise={<Broken />}>
      {runs === undefined ? <App /> : <RecordedRuns runs={JSON.parse(runs)} />}
    </Boundary>
  </StrictMode>,
);
