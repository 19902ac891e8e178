/** The names of the account's events. An operation that writes declares which of them it may record. */
import { outcomes } from './outcomes/outcomes.ts';

export type EventName = (typeof outcomes)[number]['events'][number];
export const eventNames: readonly EventName[] = outcomes.flatMap(
  ({ events }): readonly EventName[] => events,
);
