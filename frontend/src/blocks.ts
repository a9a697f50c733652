// Cuts a growing Markdown text where what stands before can no longer change, so that only its
// last block is parsed again with each frame. Pure; a finished text is parsed whole.

const FENCE = /^\s*(`{3,}|~{3,})/;
/** What may go on with a list, a quote, a table, a definition or indented code of before. */
const CONTINUES = /^(\s|[-*+>|]|\d+[.)]\s|\[[^\]]+\]:|<)/;

/** The text in pieces that read the same alone as together; joined they are the text. */
export function blocks(text: string): string[] {
  const pieces: string[] = [];
  let piece = "";
  let fence: string | null = null;
  let isBlankBefore = false;
  for (const line of text.split(/(?<=\n)/)) {
    const isBlank = line.trim() === "";
    if (fence === null && isBlankBefore && !isBlank && !CONTINUES.test(line)) {
      pieces.push(piece);
      piece = "";
    }
    fence = fenceAfter(fence, line);
    isBlankBefore = isBlank;
    piece += line;
  }
  if (piece !== "") pieces.push(piece);
  return pieces;
}

function fenceAfter(open: string | null, line: string): string | null {
  const mark = FENCE.exec(line)?.[1];
  if (mark === undefined) return open;
  if (open === null) return mark;
  const isClosing = mark[0] === open[0] && mark.length >= open.length && line.trim() === mark;
  return isClosing ? null : open;
}
