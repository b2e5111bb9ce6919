/**
 * Runs something that adds style elements to the document, such as the terminal. The policy of the pages forbids such elements, so each becomes a constructed style sheet, which
 * scripts of the page may make. The returned function removes the sheets.
 */
export function withStyleSheets(run: () => void): () => void {
  const sheets: CSSStyleSheet[] = [];
  const create = document.createElement.bind(document);
  const standIn = (): HTMLElement => {
    const sheet = new CSSStyleSheet();
    sheets.push(sheet);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    const element = create('span');
    element.hidden = true;
    const write = {
      set: (text: string) => {
        sheet.replaceSync(text);
      },
    };
    Object.defineProperty(element, 'textContent', write);
    return element;
  };
  const createElement = (tag: string, options?: ElementCreationOptions) =>
    tag.toLowerCase() === 'style' ? standIn() : create(tag, options);
  Object.defineProperty(document, 'createElement', { value: createElement, configurable: true });
  try {
    run();
  } finally {
    // The method of the prototype is visible again.
    Reflect.deleteProperty(document, 'createElement');
  }
  return () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet));
  };
}
