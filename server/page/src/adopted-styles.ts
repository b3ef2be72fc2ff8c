import { useEffect } from "react";

/**
 * In the place of `react-style-singleton`, with which radix-ui locks the scrolling behind a dialog: that adds a
 * `<style>`, which the page's policy forbids. A sheet that a script has made is allowed.
 */
export function styleSingleton() {
  return function Styles({ styles }: { styles: string }): null {
    useEffect(() => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(styles);
      document.adoptedStyleSheets.push(sheet);
      return () => {
        document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet);
      };
    }, [styles]);
    return null;
  };
}
