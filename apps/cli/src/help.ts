type HelpLine = readonly [text: string, what: string];

export function examples(...lines: readonly HelpLine[]): string {
  return commented('Examples', lines);
}

export function settingsHelp(...lines: readonly HelpLine[]): string {
  return commented('Configuration file', lines);
}

function commented(title: string, lines: readonly HelpLine[]): string {
  const width = Math.max(...lines.map(([text]) => text.length));
  return `\n${title}:\n${lines.map(([text, what]) => `  ${what === '' ? text : `${text.padEnd(width)}   # ${what}`}`).join('\n')}\n`;
}
