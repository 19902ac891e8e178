/**
 * The members `retries`, `retryDelay` and `timeout` of a component: how often it is run again if it fails, and
 * how long one attempt may take.
 */
import type { Attempts, Plain, PlainMap, WrongAttempt } from './pipeline.ts';
import { shorten } from './template.ts';

export const retriesLimit = 100;
export const retryDelayLimit = 3_600;
/** 7 days. */
export const timeoutLimit = 604_800;

const members: Readonly<Record<string, { pattern: RegExp; least: number; most: number; what: string }>> = {
  retries: { pattern: /^\d{1,9}$/, least: 0, most: retriesLimit, what: 'a whole number' },
  retryDelay: {
    pattern: /^\d{1,9}(?:\.\d{1,3})?$/,
    least: 0,
    most: retryDelayLimit,
    what: 'a number of seconds',
  },
  timeout: { pattern: /^\d{1,9}$/, least: 1, most: timeoutLimit, what: 'a whole number of seconds' },
};

export const attemptMembers = Object.keys(members);

/** The attempts of a component; nothing if it has none of the members. */
export function readAttempts(component: PlainMap): {
  attempts?: Attempts;
  wrongAttempts?: readonly WrongAttempt[];
} {
  const wrong: WrongAttempt[] = [];
  const read = new Map<string, number>();
  for (const member of attemptMembers) {
    const value = Object.hasOwn(component, member) ? component[member] : undefined;
    if (value === undefined || value === null) continue;
    const number = readNumber(member, value);
    if (typeof number === 'number') read.set(member, number);
    else wrong.push({ member, message: number });
  }
  if (wrong.length > 0) return { wrongAttempts: wrong };
  if (read.size === 0) return {};
  const timeoutSeconds = read.get('timeout');
  return {
    attempts: {
      retries: read.get('retries') ?? 0,
      delaySeconds: read.get('retryDelay') ?? 0,
      ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
    },
  };
}

/** The number, or what is wrong with it. */
function readNumber(member: string, value: Plain): number | string {
  const { pattern, least, most, what } = members[member] as (typeof members)[string];
  const remedy = `"${member}" must be ${what} from ${least} to ${most}`;
  if (typeof value !== 'string') {
    const kind = typeof value === 'boolean' ? String(value) : Array.isArray(value) ? 'a list' : 'a map';
    return `${remedy}, not ${kind}`;
  }
  const text = value.trim();
  const number = pattern.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  return `${remedy}, not "${shorten(value)}"${text.includes('${') ? ': expressions are not read here' : ''}`;
}
