import { createElement } from "react";
import type { Host } from "../components/chat/host";
import { CLIENT_TOOLS } from "../demo/client-tools";
import { Forecast } from "../demo/Forecast";
import { chatHref, openNewChat } from "./chat-id";

/** The server that this page came from, below whatever path. */
export const API = "api";

export const HOST: Host = {
  api: API,
  chatHref,
  openNewChat,
  Link: (props) => createElement("a", props),
  clientTools: CLIENT_TOOLS,
  dataParts: { "data-weather": Forecast },
};
