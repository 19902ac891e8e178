/** Writes SQL node by node, with what stands between the nodes as it was written. */

import { isWord, type Node } from '../tokens/tree.ts';
import { copyNodes, copyText, type Frame } from './frame.ts';

export class Cursor {
  readonly nodes: readonly Node[];
  readonly frame: Frame;
  readonly pieces: string[] = [];
  at = 0;

  constructor(nodes: readonly Node[], frame: Frame) {
    this.nodes = nodes;
    this.frame = frame;
  }

  get node(): Node | undefined {
    return this.nodes[this.at];
  }

  get rest(): readonly Node[] {
    return this.nodes.slice(this.at);
  }

  get sql(): string {
    return this.pieces.join('');
  }

  /** Adds SQL in the place of the nodes up to `next`. */
  add(sql: string, next: number): void {
    const [before, node] = [this.nodes[this.at - 1], this.nodes[this.at]];
    const gap = before === undefined || node === undefined ? '' : copyText(this.frame, before.to, node.from);
    this.pieces.push(sql === '' ? '' : `${gap}${sql}`);
    this.at = next;
  }

  /** Adds nodes as they were written. */
  keep(count = 1): void {
    if (this.at < this.nodes.length)
      this.add(copyNodes(this.frame, this.nodes.slice(this.at, this.at + count)), this.at + count);
  }

  /** Keeps the next node if it is one of the words. */
  keepWord(...words: readonly string[]): boolean {
    if (!isWord(this.node, ...words)) return false;
    this.keep();
    return true;
  }

  /** Leaves nodes out. */
  drop(count = 1): void {
    this.add('', this.at + count);
  }
}
