/**
 * Splits a multipart form into its parts while its bytes arrive (RFC 2046 §5.1.1, RFC 7578), with the Dicer of
 * @fastify/busboy. Busboy itself skips a part that it cannot name; Dicer hands over every part (docs/adr/0041).
 */
import { Dicer } from '@fastify/busboy';
import { createTooLargeProblem, createUnreadableProblem } from './form-problems.ts';
import { type PartHeader, readPartName } from './part-name.ts';

export interface FormPart {
  name: string;
  content: Buffer;
}

export interface FormLimits {
  parts: number;
  partBytes: number;
  /** An unwanted part is returned without content and does not count for the limits. */
  isUnwanted?: (name: string) => boolean;
}

export interface FormParser {
  /**
   * Resolves with the parts that this chunk completes, in order. Throws `invalid-upload` and
   * `body-too-large`.
   */
  write(chunk: Buffer): Promise<FormPart[]>;
  /** Call it after the last chunk. Resolves with the remaining parts. Throws the same as `write`. */
  end(): Promise<FormPart[]>;
}

const mostHeaderBytes = 16_384;

/** @param boundary as in the request's Content-Type, of ASCII */
export function createFormParser(boundary: string, limits: FormLimits): FormParser {
  const dicer = new Dicer({ boundary });
  const readPart = createPartReader(limits);
  let preamble: Dicer.PartStream | undefined;
  let parts = 0;
  /** The parts not returned yet. The last one may be incomplete. */
  const open: OpenPart[] = [];
  let isFinished = false;
  /** Resolves the promise of the last `write`. */
  let taken: () => void = () => undefined;
  const finished = new Promise<void>((resolve, reject) => {
    dicer.once('finish', () => {
      isFinished = true;
      // Dicer may finish without the callback of its last write.
      taken();
      resolve();
    });
    dicer.on('error', reject);
  });
  // `end` awaits it. An upload that fails earlier does not call `end`.
  finished.catch(() => undefined);

  dicer.on('preamble', (stream) => {
    preamble = stream;
    stream.on('error', ignoreError);
  });
  dicer.on('part', (stream) => {
    parts += 1;
    const part: OpenPart = {
      number: parts,
      stream,
      header: undefined,
      named: undefined,
      pieces: [],
      bytes: 0,
    };
    open.push(part);
    stream.on('header', (header) => {
      part.header = header as PartHeader;
    });
    stream.on('error', ignoreError);
  });

  /** Dicer waits until its parts are read, so this runs before the callback of its `write`. */
  function readParts(): FormPart[] {
    if (preamble?.read() != null)
      throw createUnreadableProblem('it does not begin with the boundary of its Content-Type');
    for (const part of open) readPart(part);
    return completeParts(open.splice(0, open.length - 1));
  }

  return {
    async write(chunk) {
      if (isFinished) return [];
      const { promise: isTaken, resolve } = Promise.withResolvers<void>();
      taken = resolve;
      dicer.write(chunk, () => resolve());
      const complete = readParts();
      await isTaken;
      return complete;
    },
    async end() {
      if (!isFinished) dicer.end();
      await finished.catch(() => {
        throw createUnreadableProblem('its closing boundary is missing');
      });
      return completeParts(open);
    },
  };
}

interface OpenPart {
  /** From 1. */
  number: number;
  stream: Dicer.PartStream;
  /** Undefined until Dicer has read all of it. */
  header: PartHeader | undefined;
  /** The content of the header, once it was checked. */
  named: { name: string; isUnwanted: boolean } | undefined;
  pieces: Buffer[];
  bytes: number;
}

/** Reads what has arrived of a part, within the limits. */
function createPartReader(limits: FormLimits): (part: OpenPart) => void {
  let wantedParts = 0;

  function checkHeader(header: PartHeader, number: number) {
    if (countHeaderBytes(header) > mostHeaderBytes)
      throw createUnreadableProblem(`the header of part ${number} is longer than ${mostHeaderBytes} bytes`);
    const name = readPartName(header, number);
    const isUnwanted = limits.isUnwanted?.(name) === true;
    if (!isUnwanted) wantedParts += 1;
    if (wantedParts > limits.parts)
      throw createTooLargeProblem(`an upload has at most ${limits.parts} parts`, 'HEADGATE_UPLOAD_PARTS');
    return { name, isUnwanted };
  }

  return (part) => {
    if (part.header === undefined) return;
    part.named ??= checkHeader(part.header, part.number);
    const { name, isUnwanted } = part.named;
    for (;;) {
      const piece: Buffer | null = part.stream.read();
      if (piece === null) return;
      if (isUnwanted) continue;
      part.bytes += piece.length;
      if (part.bytes > limits.partBytes) {
        const about = `the part ${JSON.stringify(name)} is larger than ${limits.partBytes} bytes`;
        throw createTooLargeProblem(about, 'HEADGATE_UPLOAD_PART_MB');
      }
      part.pieces.push(piece);
    }
  };
}

/** Dicer has returned all of these parts. It drops a part with an incomplete header without an error. */
function completeParts(parts: readonly OpenPart[]): FormPart[] {
  return parts.map(({ named, number, pieces }) => {
    if (named === undefined) throw createUnreadableProblem(`the header of part ${number} has no end`);
    const [first = Buffer.alloc(0)] = pieces;
    return { name: named.name, content: pieces.length > 1 ? Buffer.concat(pieces) : first };
  });
}

/** Dicer cuts a header at 80 KiB, far above the limit here. */
function countHeaderBytes(header: PartHeader): number {
  let bytes = 0;
  for (const [name, values = []] of Object.entries(header))
    for (const value of values) bytes += name.length + value.length;
  return bytes;
}

/** Dicer also emits the error of a part on itself. */
function ignoreError(): void {}
