/** The protected header of a sealed value: how it is made, and what makes it wrong. */
import {
  contentEncryption,
  type SealingKeyType,
  sealedSecondsLimit,
  sealedType,
  sealingAlgorithms,
  sealingAlgorithmsOf,
} from './sealed-constants.ts';
import type { SealedHeader, SecretPlace } from './secret-value.ts';

/** How long a value that our own programs sealed may be on its way. */
export const sealedSeconds = 300;

/** The header of a value that is sealed now. */
export function sealedHeader(
  key: { kid: string; keyType: SealingKeyType },
  about: { agent: string; place: SecretPlace; jti: string; now: Date },
): SealedHeader {
  const [alg] = sealingAlgorithmsOf[key.keyType];
  const { agent, place, jti, now } = about;
  const exp = Math.floor(now.getTime() / 1_000) + sealedSeconds;
  return { typ: sealedType, alg, enc: contentEncryption, kid: key.kid, agent, ...place, jti, exp };
}

/** The subject alternative name of an instance's certificate, a URI. */
export const certificateHolder = (agentId: string, instanceId: string): string =>
  `urn:headgate:agent:${agentId}:instance:${instanceId}`;

/** Why a header is not the one of this place; undefined when it is. Both the server and the agent ask. */
export function headerFault(
  header: Readonly<Record<string, unknown>>,
  expected: { agent: string; place: SecretPlace; now: Date },
): string | undefined {
  if (header.typ !== sealedType) return `its \`typ\` is not ${sealedType}`;
  if (!sealingAlgorithms.some((name) => name === header.alg))
    return `its \`alg\` is none of ${sealingAlgorithms.join(', ')}`;
  if (header.enc !== contentEncryption) return `its \`enc\` is not ${contentEncryption}`;
  if ('zip' in header || 'crit' in header) return 'it uses `zip` or `crit`';
  if (header.agent !== expected.agent) return 'it is sealed for another agent';
  for (const member of ['vaultName', 'provider', 'name', 'key', 'type'] as const) {
    if (header[member] !== expected.place[member]) return `it is sealed for another \`${member}\``;
  }
  const { jti, exp } = header;
  if (typeof jti !== 'string' || jti.length < 16 || jti.length > 100)
    return 'its `jti` is no text of 16 to 100 characters';
  if (typeof exp !== 'number' || !Number.isSafeInteger(exp)) return 'it has no `exp`';
  const left = exp - expected.now.getTime() / 1_000;
  if (left <= 0) return 'it is stale: its `exp` has passed';
  if (left > sealedSecondsLimit) return `its \`exp\` lies more than ${sealedSecondsLimit} s ahead`;
  return undefined;
}
