/** Puts the problems and events of the resources together; a name that two of them declare is a type error. */
import type { ProblemKind } from './problem-kind.ts';

/** What a resource's operations can answer and record beside their responses. */
export interface Outcomes {
  /** The names of its events. */
  events: readonly string[];
  /** By code. */
  problems: Readonly<Record<string, ProblemKind>>;
}

type NamesOf<One extends Outcomes> = (keyof One['problems'] & string) | One['events'][number];

/** The names that stand in more than one of the lists; `never` if there are none. */
type Doubles<Lists extends readonly Outcomes[], Seen = never> = Lists extends readonly [
  infer First extends Outcomes,
  ...infer Rest extends readonly Outcomes[],
]
  ? (NamesOf<First> & Seen) | Doubles<Rest, Seen | NamesOf<First>>
  : never;

/** @throws when two resources declare the same code or the same event */
export function withoutDoubles<const Lists extends readonly Outcomes[]>(
  lists: Lists & ([Doubles<Lists>] extends [never] ? unknown : { declaredTwice: Doubles<Lists> }),
): Lists {
  const seen = new Set<string>();
  for (const { events, problems } of lists) {
    for (const name of [...events, ...Object.keys(problems)]) {
      if (seen.has(name)) throw new Error(`Two resources declare the problem or event ${name}.`);
      seen.add(name);
    }
  }
  return lists;
}
