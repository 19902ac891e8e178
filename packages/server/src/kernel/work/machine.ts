/** State machines: a table of allowed moves. */
export type Moves<State extends string> = Readonly<Record<State, readonly NoInfer<State>[]>>;

export interface Machine<State extends string> {
  states: readonly State[];
  allows(from: State, to: State): boolean;
  /** The states that may move to `to`: the condition of the compare-and-set update. */
  listSources(to: State): State[];
  isEnd(state: State): boolean;
}

export function createMachine<State extends string>(moves: Moves<State>): Machine<State> {
  const states = Object.keys(moves) as State[];
  return {
    states,
    allows: (from, to) => moves[from].includes(to),
    listSources: (to) => states.filter((from) => moves[from].includes(to)),
    isEnd: (state) => moves[state].length === 0,
  };
}
