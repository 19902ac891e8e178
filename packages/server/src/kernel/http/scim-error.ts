/** A problem as an error of SCIM (RFC 7644 §3.12). */
import { type ScimError, scimTypeOf, scimUrns } from '@headgate/contract';
import type { Problem } from './problems.ts';

const longestDetail = 20_000;

export function renderScimError(failure: Problem): ScimError {
  const faults = failure.violations.map(({ field, detail }) => `${field} ${detail}`);
  // An error of SCIM has no member `violations` to look at.
  const message = failure.message.replace('; see `violations`.', ':');
  const error: ScimError = {
    schemas: [scimUrns.error],
    status: String(failure.status),
    detail: [message, ...faults].join(' ').slice(0, longestDetail),
  };
  const scimType = findScimType(failure);
  if (scimType !== undefined) error.scimType = scimType;
  return error;
}

function findScimType({ code, violations }: Problem): ScimError['scimType'] {
  if (code !== 'invalid-request') return scimTypeOf[code];
  if (violations.some(({ field }) => field.startsWith('body'))) return 'invalidSyntax';
  if (violations.some(({ field }) => field === 'query.filter')) return 'invalidFilter';
  return scimTypeOf[code];
}
