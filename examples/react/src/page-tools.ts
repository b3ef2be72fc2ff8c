/** What the agent may do in this page, by the names that it was told with `client_tool(…)`. */
export const PAGE_TOOLS: Record<string, { question: string; run: () => unknown }> = {
  local_time: {
    question: "May the agent know your local time?",
    run: () => ({
      time: new Date().toLocaleString("sv"),
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    }),
  },
};
