/**
 * Counts the tokens of one turn, also of attempts that gave no whole answer: the model server may charge for them. What
 * it does not report is estimated.
 */
import { estimateTokens, type ModelAnswer } from './model.ts';

export interface Tokens {
  input: number;
  output: number;
}

export class Meter {
  readonly #lost: Tokens = { input: 0, output: 0 };
  #estimateInput = () => 0;
  #hasBegun = false;
  #textLength = 0;
  #reported: Tokens | undefined;

  /** @param estimateInput the tokens of the request that follows */
  prepare(estimateInput: () => number): void {
    this.#estimateInput = estimateInput;
  }

  /** The model server begins to answer. */
  begin(): void {
    this.#hasBegun = true;
  }

  /** @param piece undefined: the answer is lost */
  add(piece: string | undefined): void {
    if (piece === undefined) this.#lose();
    else this.#textLength += Buffer.byteLength(piece);
  }

  /** What the model server says of an attempt that gives no answer. */
  report(used: Tokens): void {
    this.#reported = used;
  }

  /** The turn has an answer. */
  countAnswer({ text, calls, inputTokens, outputTokens }: ModelAnswer): Tokens {
    const written = text + calls.map(({ input }) => input).join('');
    return {
      input: this.#lost.input + (inputTokens ?? this.#estimateInput()),
      output: this.#lost.output + (outputTokens ?? estimateTokens(written)),
    };
  }

  /** The turn has none. */
  countLost(): Tokens {
    this.#lose();
    return this.#lost;
  }

  #lose(): void {
    if (this.#hasBegun) {
      this.#lost.input += this.#reported?.input ?? this.#estimateInput();
      this.#lost.output += this.#reported?.output ?? estimateTokens(this.#textLength);
    }
    this.#hasBegun = false;
    this.#textLength = 0;
    this.#reported = undefined;
  }
}
