/** Prints what programs that run at the same time write as if they had run one after the other. */

export interface OutputTurn {
  write(text: string): void;
  /** Nothing is written after it. */
  end(): void;
}

/**
 * Outputs in the order of their creation. The first one that has not ended is printed as it comes; the others are
 * kept until it is their turn.
 */
export function createOutputTurns(print: (text: string) => void): () => OutputTurn {
  const turns: { kept: string; hasEnded: boolean }[] = [];

  function printFirst(): void {
    for (let first = turns[0]; first !== undefined; first = turns[0]) {
      if (first.kept !== '') print(first.kept);
      first.kept = '';
      if (!first.hasEnded) return;
      turns.shift();
    }
  }

  return () => {
    const turn = { kept: '', hasEnded: false };
    turns.push(turn);
    return {
      write(text) {
        turn.kept += text;
        printFirst();
      },
      end() {
        turn.hasEnded = true;
        printFirst();
      },
    };
  };
}
