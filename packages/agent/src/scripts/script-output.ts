/** Cuts what a script prints into lines, up to a limit. */
import { StringDecoder } from 'node:string_decoder';
import type { ScriptStream } from './script-job.ts';

/** Characters of a line. A longer one is dropped: cut, it might end with a part of a secret that is not masked. */
export const lineLimit = 262_144;

/** Shared by the streams of a script. */
export class OutputBudget {
  #left: number;
  readonly #limit: number;
  #dropped = 0;

  constructor(kilobytes: number) {
    this.#limit = kilobytes;
    this.#left = kilobytes * 1_024;
  }

  /** Returns how much of the text may be kept. */
  take(characters: number): number {
    const taken = Math.min(characters, this.#left);
    this.#left -= taken;
    this.#dropped += characters - taken;
    return taken;
  }

  /** Undefined if nothing was dropped. */
  describeDropped(): string | undefined {
    if (this.#dropped === 0) return undefined;
    return `the script printed ${this.#dropped} characters more than ${this.#limit} KiB, which were dropped: print less, or raise HEADGATE_AGENT_SCRIPT_OUTPUT_KB of the agent`;
  }
}

export class LineReader {
  readonly #decoder = new StringDecoder('utf8');
  readonly #stream: ScriptStream;
  readonly #budget: OutputBudget;
  readonly #onLine: (stream: ScriptStream, line: string) => void;
  #line = '';
  /** Characters of a line that is too long. */
  #dropped = 0;

  constructor(
    stream: ScriptStream,
    budget: OutputBudget,
    onLine: (stream: ScriptStream, line: string) => void,
  ) {
    this.#stream = stream;
    this.#budget = budget;
    this.#onLine = onLine;
  }

  add(bytes: Buffer): void {
    const text = this.#decoder.write(bytes);
    const taken = this.#budget.take(text.length);
    const parts = text.slice(0, taken).split('\n');
    const last = parts.pop() ?? '';
    for (const part of parts) {
      this.#append(part);
      this.#flush();
    }
    // A line without its end is dropped: it may end with a part of a secret, which is not found to be masked.
    if (taken < text.length) this.#line = '';
    else this.#append(last);
  }

  end(): void {
    this.#append(this.#decoder.end());
    if (this.#line !== '' || this.#dropped > 0) this.#flush();
  }

  #append(part: string): void {
    const length = this.#line.length + part.length;
    if (this.#dropped === 0 && length <= lineLimit) this.#line += part;
    else {
      this.#dropped += length;
      this.#line = '';
    }
  }

  #flush(): void {
    this.#onLine(
      this.#stream,
      this.#dropped === 0
        ? this.#line.replace(/\r$/, '')
        : `(a line of ${this.#dropped} characters was dropped: print at most ${lineLimit} in a line)`,
    );
    this.#line = '';
    this.#dropped = 0;
  }
}
