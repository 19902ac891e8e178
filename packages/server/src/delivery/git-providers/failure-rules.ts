/**
 * Words for what providers refuse. Each rule names what it recognises: a status, or what the provider or its
 * hooks wrote. The first rule that matches counts, so that narrow rules come first.
 */
import { removeMarkup } from '../../kernel/security/markup.ts';
import type { ProviderFailure, ProviderFinding, ProviderFindingCode } from './git-provider.ts';

export interface FailureRule {
  code: ProviderFindingCode;
  status?: readonly number[];
  /** If both are given, both must match. */
  text?: RegExp;
  what: string;
  remedy: string;
}

/** Of all providers and of Git itself; a provider's own rules come before these. */
const commonRules: readonly FailureRule[] = [
  {
    code: 'rate-limited',
    status: [429],
    what: 'The provider limits how often it is called.',
    remedy: 'Wait and try again.',
  },
  {
    code: 'rate-limited',
    status: [403],
    text: /rate limit/i,
    what: 'The provider limits how often it is called.',
    remedy: 'Wait and try again.',
  },
  {
    code: 'repository-archived',
    text: /\barchived\b|read-only archive/i,
    what: 'The repository is archived, so that nobody can push to it.',
    remedy: 'Unarchive the repository at the provider.',
  },
  {
    code: 'force-push-forbidden',
    text: /force[- ]push|'ForcePush'|deny(?:ing)? non-fast-?forward|denyNonFastForwards|DENIED by refs|(?:^|: )\+ refs\/|non-fast-forward/im,
    what: 'The provider refuses a forced push.',
    remedy: 'Grant the right to force push, or allow it in the rules of the branch.',
  },
  {
    code: 'protected-branch',
    text: /protected branch|branch is protected|pushes to this branch are not permitted|repository rule violations/i,
    what: 'The branch is protected at the provider.',
    remedy: 'Allow this credential to push to the branch in its protection rules.',
  },
  {
    code: 'quota-exceeded',
    status: [413, 507],
    what: 'The provider takes no more data: a size limit or quota is reached.',
    remedy: "Raise the repository's limit at the provider, or remove large files.",
  },
  {
    code: 'quota-exceeded',
    text: /quota|storage limit|size limit|large files detected|exceeds (?:(?!exceeds ).){0,60}(?:limit|maximum)|no space left/i,
    what: 'The provider takes no more data: a size limit or quota is reached.',
    remedy: "Raise the repository's limit at the provider, or remove large files.",
  },
  {
    code: 'token-expired',
    text: /token (?:is |has |was )?(?:expired|revoked)|expired token|token_expired|access token has expired/i,
    what: 'The token has expired or was revoked.',
    remedy: 'Make a new token at the provider, and send that one.',
  },
  {
    code: 'role-too-low',
    text: /permission to \S+ denied|write access to (?:the )?repository not granted|not allowed to (?:push|upload)|DENIED by fallthru|insufficient[_ ]scope|resource not accessible by|'GenericContribute'/i,
    what: 'The credential may not do this in the repository.',
    remedy: 'Give it the right to write to the repository.',
  },
  {
    code: 'hook-declined',
    text: /hook declined|declined by hook|hook (?:(?!hook ).){0,60}rejected/i,
    what: "A hook of the provider's server declined the push.",
    remedy: 'Change the hook or the push rule that declined it.',
  },
  {
    code: 'token-rejected',
    status: [401],
    what: 'The provider does not accept the credential.',
    remedy: 'Use a valid token, or an enterprise OAuth connection that reaches the repository.',
  },
  {
    code: 'role-too-low',
    status: [403],
    what: 'The credential may not do this in the repository.',
    remedy: 'Give it the right to read and write the repository.',
  },
  {
    code: 'repository-not-found',
    status: [404, 410],
    what: 'The repository does not exist, or the credential may not see it.',
    remedy: 'Check the address, and that the credential may read the repository.',
  },
  {
    code: 'repository-not-found',
    text: /repository (?:(?!repository ).){0,200}not found|not found: did you run git update-server-info/i,
    what: 'The repository does not exist, or the credential may not see it.',
    remedy: 'Check the address, and that the credential may read the repository.',
  },
  {
    code: 'provider-failed',
    status: [500, 502, 503, 504],
    what: 'The provider failed.',
    remedy: 'Try again later.',
  },
];

const otherwise: FailureRule = {
  code: 'provider-refused',
  what: 'The provider refused the request.',
  remedy: 'See what it wrote, and try again.',
};

/** @param rules of the provider */
export function explainByRules(rules: readonly FailureRule[], failure: ProviderFailure): ProviderFinding {
  const read = { ...failure, text: failure.text.slice(0, mostReadCharacters) };
  const rule = [...rules, ...commonRules].find((each) => matches(each, read)) ?? otherwise;
  const wait = readRetryAfter(failure);
  return {
    code: rule.code,
    detail: [rule.what, quoteProvider(read)].filter((part) => part !== '').join(' '),
    remedy: rule.remedy,
    ...(wait === undefined ? {} : { retryAfterSeconds: wait }),
  };
}

function matches({ status, text }: FailureRule, failure: ProviderFailure): boolean {
  if (status !== undefined && !(failure.status !== undefined && status.includes(failure.status)))
    return false;
  return text === undefined || text.test(failure.text);
}

const quotedCharacters = 300;
/** Of what a host answers: its own words come first. */
const mostReadCharacters = 65_536;

function quoteProvider({ status, text }: ProviderFailure): string {
  const words = cleanProviderText(text);
  const answered = status === undefined ? 'It wrote' : `It answered ${status}`;
  if (words === '') return status === undefined ? '' : `${answered}.`;
  return `${answered}: ${JSON.stringify(words)}.`;
}

/** One line without credentials: of JSON the message, of a page its text. */
export function cleanProviderText(text: string): string {
  const line = removeMarkup(readMessage(text))
    .replace(/\bremote: ?/g, '')
    .replace(/\b(https?:\/\/)[^\s/@]*@/gi, '$1')
    .replace(/\b(?:gh[a-z]_|github_pat_|glpat-|gloas-|glrt-)[\w.-]+/g, '…')
    .replace(/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, '$1 …')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
    .replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, ' ')
    .trim();
  return line.length <= quotedCharacters ? line : `${line.slice(0, quotedCharacters - 1).trimEnd()}…`;
}

function readMessage(text: string): string {
  if (!/^\s*\{/.test(text)) return text;
  try {
    const { message, error_description, error } = JSON.parse(text) as Record<string, unknown>;
    for (const each of [message, error_description, error]) {
      if (typeof each === 'string') return each;
      if (each !== undefined && each !== null) return JSON.stringify(each);
    }
    return text;
  } catch {
    return text;
  }
}

const longestWaitSeconds = 86_400;

/** Retry-After in seconds or as a date, or GitHub's time of the next request; the provider's own clock counts. */
function readRetryAfter({ status, headers = {} }: ProviderFailure): number | undefined {
  if (status !== 429 && status !== 403 && status !== 503) return undefined;
  const now = Date.parse(headers.date ?? '') || Date.now();
  const after = headers['retry-after'];
  const reset = headers['x-ratelimit-remaining'] === '0' ? headers['x-ratelimit-reset'] : undefined;
  const seconds = (() => {
    if (after !== undefined && /^\d{1,9}$/.test(after)) return Number(after);
    if (after !== undefined) return (Date.parse(after) - now) / 1_000;
    if (reset !== undefined) return Number(reset) - now / 1_000;
    return Number.NaN;
  })();
  return Number.isFinite(seconds) ? Math.min(longestWaitSeconds, Math.max(1, Math.ceil(seconds))) : undefined;
}
