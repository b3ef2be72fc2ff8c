import { useEffect, useState } from "react";

/** Whether the server has an inspector: the built page has none, a server may put its own answer there. */
export function useInspectable(): boolean {
  const [inspectable, setInspectable] = useState(false);
  useEffect(() => {
    void fetch("inspector.json")
      .then((response) => (response.ok ? response.json() : false))
      .then((there) => setInspectable(there === true), () => undefined);
  }, []);
  return inspectable;
}
