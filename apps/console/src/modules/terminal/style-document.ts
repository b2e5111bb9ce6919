/**
 * The document for the terminal, which writes style elements at run time. The policy of the pages forbids them, so each becomes a constructed style sheet, which scripts of the
 * page may make.
 */
export function styleDocument(): { readonly document: Document; readonly dispose: () => void } {
  const sheets: CSSStyleSheet[] = [];
  const makeStyle = (): HTMLElement => {
    const sheet = new CSSStyleSheet();
    sheets.push(sheet);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    const element = document.createElement('span');
    element.hidden = true;
    const write = {
      set: (text: string) => {
        sheet.replaceSync(text);
      },
    };
    Object.defineProperty(element, 'textContent', write);
    return element;
  };
  const wrapped = new Proxy(document, {
    get(target, name) {
      if (name === 'createElement') return (tag: string) => (tag.toLowerCase() === 'style' ? makeStyle() : target.createElement(tag));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value;
    },
  });
  const dispose = (): void => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet));
  };
  return { document: wrapped, dispose };
}
