/** What became of the refs of a push that failed, in words and in the report. */
import { type MigrationReport, reportListLimit } from '@headgate/contract';
import type { PushOutcome } from './migration-failure.ts';
import { nameSome, showRef } from './remote-refs.ts';

/** Refused refs that the words give a reason for. */
const explained = 5;

/** Adds to the reason of a failure what arrived, what was refused, and what was never tried. */
export function describePush(message: string, push: PushOutcome | undefined): string {
  if (push === undefined) return message;
  const { arrived, refused, notTried } = push;
  const total = arrived.length + refused.length + notTried.length;
  const list = (names: readonly string[]) => (names.length === 0 ? '' : `: ${nameSome(names)}`);
  const reasons = refused
    .slice(0, explained)
    .map(({ name, reason }) => `${nameSome([name])} (${reason.slice(0, 200)})`);
  const more = refused.length > explained ? ` and ${refused.length - explained} more` : '';
  return [
    message,
    `${arrived.length} of ${total} branches and tags arrived at the target${list(arrived)}.`,
    refused.length === 0 ? '' : `It refused ${refused.length}: ${reasons.join('; ')}${more}.`,
    notTried.length === 0 ? '' : `${notTried.length} were not tried${list(notTried)}.`,
    arrived.length === 0 ? '' : 'A new start goes on from there: what arrived stays.',
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
}

const show = (name: string) => showRef(name).slice(0, 1_024);

export function presentPush({
  arrived,
  refused,
  notTried,
}: PushOutcome): NonNullable<MigrationReport['push']> {
  return {
    arrived: arrived.length,
    arrivedRefs: arrived.slice(0, reportListLimit).map(show),
    refused: refused.length,
    refusedRefs: refused
      .slice(0, reportListLimit)
      .map(({ name, reason }) => ({ name: show(name), reason: reason.slice(0, 1_000) })),
    notTried: notTried.length,
    notTriedRefs: notTried.slice(0, reportListLimit).map(show),
  };
}
