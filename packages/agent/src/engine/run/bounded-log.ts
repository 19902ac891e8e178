/** Bounds the log of a run: the length of a line, and the lines and bytes of all steps together. */
import { logBytesLimit, logLineLimit, logLinesLimit } from '@headgate/contract/without-schemas';
import type { RunPorts } from '../ports/ports.ts';

const megabyte = 1_048_576;
const droppedFromHere = `further output of this run is dropped: it printed more than ${logLinesLimit} lines or ${logBytesLimit / megabyte} MB, which is the limit; print less`;

/** A text with line breaks becomes several lines. It is cut only after it is masked. */
export function createBoundedLog(log: RunPorts['log'], mask: (text: string) => string): RunPorts['log'] {
  let lines = 0;
  let bytes = 0;
  let isFull = false;
  return (text, source) => {
    if (isFull) return;
    for (const line of splitLines(mask(text))) {
      const cut = cutLine(line);
      lines += 1;
      bytes += Buffer.byteLength(cut);
      isFull = lines > logLinesLimit || bytes > logBytesLimit;
      if (isFull) {
        log(droppedFromHere, { ...source, stream: 'component' });
        return;
      }
      log(cut, source);
    }
  };
}

function splitLines(text: string): string[] {
  const lines = text.split(/\r\n|\n|\r/);
  // A line break at the end ends the last line and begins no other.
  if (lines.length > 1 && lines.at(-1) === '') lines.pop();
  return lines;
}

function cutLine(line: string): string {
  if (line.length <= logLineLimit) return line;
  const mark = ` … (cut: the line has ${line.length} characters)`;
  return line.slice(0, logLineLimit - mark.length).toWellFormed() + mark;
}
