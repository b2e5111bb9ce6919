/** Gives the reader a file that the page has made. */
export const downloadText = (name: string, text: string, type = 'text/plain'): void => downloadBlob(name, new Blob([text], { type }));

export function downloadBlob(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
