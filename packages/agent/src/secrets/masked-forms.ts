/**
 * Finds many texts in a text, in a time that hardly depends on how many they are or how long.
 *
 * - **form**: a text to find.
 * - **block**: the beginning, or the end, of a form. The lengths of blocks are few: exact below 32 characters, then
 *   four between a power of two and the next. The two blocks of a form cover it, so finding blocks finds it.
 * - **fragment**: a few consecutive characters of a form.
 *
 * Texts are compared by rolling hashes (Rabin and Karp). Two of 32 bits together are trusted without a comparison:
 * an equal hash of other characters only finds too much.
 */
export type Range = [from: number, to: number];

/** The length of the shortest form, and of a fragment. */
export const fragmentLength = 4;
const exactBelow = 32;
const multipliers = [0x01000193, 0x5bd1e995] as const;
/** Bits of the set of fragments. Its size is fixed; with very many secrets it holds fragments that none has. */
const fragmentBits = 22;

/** Of each beginning of a text, two hashes. */
export interface TextHashes {
  text: string;
  first: Int32Array;
  second: Int32Array;
}

/** Most texts are short lines. */
const shortHashes = { first: new Int32Array(4_097), second: new Int32Array(4_097) };

/** Valid until the next call. */
export function hashText(text: string): TextHashes {
  const size = text.length + 1;
  const { first, second } =
    size <= shortHashes.first.length
      ? shortHashes
      : { first: new Int32Array(size), second: new Int32Array(size) };
  const [one, other] = multipliers;
  for (let at = 0, a = 0, b = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at) + 1;
    a = (Math.imul(a, one) + code) | 0;
    b = (Math.imul(b, other) + code) | 0;
    first[at + 1] = a;
    second[at + 1] = b;
  }
  return { text, first, second };
}

export class MaskedForms {
  /** The lengths of the blocks that begin with a fragment, by its hash; the longest first. */
  readonly #lengths = new Map<number, number[]>();
  readonly #blocks = new Set<number>();
  readonly #powers = new Map<number, readonly [number, number]>();
  #fragments: Int32Array | undefined;

  get isEmpty(): boolean {
    return this.#blocks.size === 0;
  }

  add(form: string): void {
    if (form.length < fragmentLength) throw new Error(`a form has at least ${fragmentLength} characters`);
    const length = shorten(form.length);
    this.#addBlock(form, 0, length);
    if (length < form.length) this.#addBlock(form, form.length - length, length);
  }

  #addBlock(form: string, from: number, length: number): void {
    const [one, other] = multipliers;
    let [a, b, start] = [0, 0, 0];
    for (let at = from; at < from + length; at += 1) {
      const code = form.charCodeAt(at) + 1;
      a = (Math.imul(a, one) + code) | 0;
      b = (Math.imul(b, other) + code) | 0;
      if (at === from + fragmentLength - 1) start = a;
    }
    this.#blocks.add(joinHashes(a, b));
    const lengths = this.#lengths.get(start);
    if (lengths === undefined) this.#lengths.set(start, [length]);
    else if (!lengths.includes(length)) {
      lengths.push(length);
      lengths.sort((one, other) => other - one);
    }
  }

  addFragments(form: string): void {
    this.#fragments ??= new Int32Array(1 << (fragmentBits - 5));
    const hashes = hashText(form);
    for (let at = 0; at + fragmentLength <= form.length; at += 1) {
      const bit = chooseBit(this.#hashFragment(hashes, at));
      this.#fragments[bit >>> 5] = (this.#fragments[bit >>> 5] ?? 0) | (1 << (bit & 31));
    }
  }

  /** In their order. */
  *findForms(hashes: TextHashes): Generator<Range> {
    const { length } = hashes.text;
    for (let at = 0; at + fragmentLength <= length; at += 1) {
      const lengths = this.#lengths.get(this.#hashFragment(hashes, at));
      if (lengths === undefined) continue;
      const found = lengths.find(
        (each) => at + each <= length && this.#blocks.has(this.#hashBlock(hashes, at, each)),
      );
      if (found !== undefined) yield [at, at + found];
    }
  }

  /** In their order. */
  *findFragments(hashes: TextHashes): Generator<Range> {
    if (this.#fragments === undefined) return;
    for (let at = 0; at + fragmentLength <= hashes.text.length; at += 1) {
      const bit = chooseBit(this.#hashFragment(hashes, at));
      if (((this.#fragments[bit >>> 5] ?? 0) >>> (bit & 31)) & 1) yield [at, at + fragmentLength];
    }
  }

  #hashFragment({ first }: TextHashes, at: number): number {
    return ((first[at + fragmentLength] ?? 0) - Math.imul(first[at] ?? 0, fragmentPower)) | 0;
  }

  #hashBlock({ first, second }: TextHashes, at: number, length: number): number {
    const [one, other] = this.#raise(length);
    const a = (first[at + length] ?? 0) - Math.imul(first[at] ?? 0, one);
    const b = (second[at + length] ?? 0) - Math.imul(second[at] ?? 0, other);
    return joinHashes(a, b);
  }

  /** The multipliers to the power of a length. */
  #raise(length: number): readonly [number, number] {
    const known = this.#powers.get(length);
    if (known !== undefined) return known;
    const [one, other] = multipliers;
    const powers = [raise(one, length), raise(other, length)] as const;
    this.#powers.set(length, powers);
    return powers;
  }
}

const fragmentPower = raise(multipliers[0], fragmentLength);

/** 53 bits, which is what a number holds. */
const joinHashes = (first: number, second: number) => (first >>> 0) * 2 ** 21 + (second >>> 11);

/** The length of the blocks of a form. It is at least four fifths of the form's, so that two cover it. */
function shorten(length: number): number {
  if (length < exactBelow) return length;
  const step = 2 ** (Math.floor(Math.log2(length)) - 2);
  return length - (length % step);
}

function raise(base: number, exponent: number): number {
  let [result, square] = [1, base];
  for (let left = exponent; left > 0; left >>>= 1) {
    if (left & 1) result = Math.imul(result, square);
    square = Math.imul(square, square);
  }
  return result;
}

/** The last character of a fragment changes only the lower bits of its hash. */
const chooseBit = (hash: number) => Math.imul(hash, 0x9e3779b1) >>> (32 - fragmentBits);
