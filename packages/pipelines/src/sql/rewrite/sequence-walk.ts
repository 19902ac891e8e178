/** The state of a walk over the tokens of a query or an expression. */
import { Cursor } from './cursor.ts';
import { renderName } from './select-names.ts';

export type Clause = 'expression' | 'select' | 'from' | 'other';

export class Walk extends Cursor {
  clause: Clause = 'other';
  expectsTable = false;
  /** The index of the piece where the operand of LIKE and the like begins. */
  termStart = 0;
  /** The piece where the factors before `/` begin, as `a` in `a * b / c`, and the characters in it before them. */
  factors: { readonly piece: number; readonly gap: number } | undefined;
  /** `SELECT TOP n` becomes LIMIT at the end. */
  limit: string | undefined;
  isJoin = false;
  /** Where the item of a SELECT begins: the index of its node, and of its piece. */
  item: { readonly at: number; readonly piece: number } | undefined;

  startItem(): void {
    if (this.frame.hasNames) this.item = { at: this.at, piece: this.pieces.length };
  }

  endItem(): void {
    if (this.item === undefined) return;
    const { at, piece } = this.item;
    const name = renderName(this.nodes.slice(at, this.at), this.pieces.slice(piece).join(''), this.frame);
    if (name !== '') this.pieces.push(name);
    this.item = undefined;
  }
}
