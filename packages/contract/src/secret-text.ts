/** A plain secret in memory. */
const masked = '[secret]';
/** What Node's inspect looks for; named here because it runs elsewhere too. */
const inspectCustom = Symbol.for('nodejs.util.inspect.custom');

export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The plain text; each use of it is a place to review. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return masked;
  }

  toJSON(): string {
    return masked;
  }

  [Symbol.toPrimitive](): string {
    return masked;
  }

  [inspectCustom](): string {
    return masked;
  }
}
