/** A problem as an error of SCIM (RFC 7644 §3.12). */
import { type ScimError, scimTypeOf, scimUrns } from '@headgate/contract';
import type { Problem } from './problems.ts';

const longestDetail = 20_000;

export function renderScimError(failure: Problem): ScimError {
  const faults = failure.violations.map(({ field, detail }) => `${field} ${detail}`);
  const error: ScimError = {
    schemas: [scimUrns.error],
    status: String(failure.status),
    detail: [failure.message, ...faults].join(' ').slice(0, longestDetail),
  };
  const isOfBody =
    failure.code === 'invalid-request' && failure.violations.some(({ field }) => field.startsWith('body'));
  const scimType = isOfBody ? 'invalidSyntax' : scimTypeOf[failure.code];
  if (scimType !== undefined) error.scimType = scimType;
  return error;
}
