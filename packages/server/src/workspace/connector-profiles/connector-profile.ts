/** From the profile in a request to the one that is stored, and back. Pure. */
import { type ConnectorProfile, type ConnectorProfileBody, connectorProfileBytes } from '@headgate/contract';
import { readProfile, trimBoth } from '@headgate/pipelines';
import { problem, type Violation, withViolations } from '../../kernel/http/problems.ts';

export interface WrittenProfile {
  name: string;
  alternateId: string | undefined;
  /** As JSON, without the members that the server sets. */
  text: string;
  bytes: number;
  /** The OAuth configurations that it names. */
  oauthNames: string[];
}

/** Throws `connector-profile-invalid` and `body-too-large`. */
export function readWrittenProfile(body: ConnectorProfileBody): WrittenProfile {
  const {
    id: _,
    alternateId,
    deleted: __,
    deletedTime: ___,
    lastModified: ____,
    ...profile
  } = body as ConnectorProfileBody & Partial<ConnectorProfile>;
  const text = JSON.stringify(profile);
  const bytes = Buffer.byteLength(text);
  if (bytes > connectorProfileBytes)
    throw problem('body-too-large', {
      limit: `a connector profile has at most ${connectorProfileBytes} bytes as JSON; it has ${bytes}`,
    });
  const oauthNames = requireValidProfile(profile);
  return { name: body.name, alternateId: alternateId ?? undefined, text, bytes, oauthNames };
}

/** Returns the names of the OAuth configurations. Throws `connector-profile-invalid`. */
function requireValidProfile(profile: object): string[] {
  const { profile: read, findings } = readProfile(profile);
  const [first] = findings;
  if (read === undefined || first !== undefined) {
    const violations = findings.map(({ path, message }) => createViolation(path, message));
    const { field = 'body', detail: reason = 'cannot be read' } = violations[0] ?? {};
    const base = problem('connector-profile-invalid', { field, reason, more: findings.length - 1 });
    throw withViolations(base, violations);
  }
  const options = read.endpoints.flatMap(({ authenticationOptions }) => authenticationOptions);
  return [...new Set(options.flatMap((option) => (option.type === 'OAUTH' ? option.names : [])))];
}

/** `endpoints[0].url` → `/body/endpoints/0/url` */
function createViolation(path: string, detail: string): Violation {
  const field = path === '' ? 'body' : `body.${path}`;
  const pointer = `/${field.replaceAll(/\[(\d+)\]/g, '/$1').replaceAll('.', '/')}`;
  return { field: field.slice(0, 1_000), pointer: pointer.slice(0, 1_000), detail };
}

/** A short name for a profile without one: `Orders API (EU)` → `orders-api-eu`. */
export function createAlternateId(name: string): string {
  const plain = name.normalize('NFKD').toLowerCase();
  const words = plain
    .replaceAll(/\p{Mark}/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 48);
  const short = trimBoth(words, '-');
  return short === '' ? 'connector' : short;
}
