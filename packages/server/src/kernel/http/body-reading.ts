/** Parses and validates the JSON body of a request, on the main thread or in a worker (body-reader.ts). */
import { bodyIsOptional, type Operation } from '@headgate/contract';
import type { ErrorObject } from 'ajv';
import { type Fault, findFaults } from './faults.ts';
import { readJson } from './json-body.ts';
import type { JsonSchema } from './json-schema.ts';
import { tidyMembers, type UnknownMember } from './members.ts';
import { bodySchemas, compileOnUse, isFormat } from './schemas.ts';
import { findTextFault } from './text-faults.ts';

export interface ReadBody {
  /** With defaults, without unknown members. */
  value: unknown;
  unknown: readonly UnknownMember[];
  /** At most `faultLimit`; empty if the body is valid. */
  faults: readonly Fault[];
}

/** The maximum number of faults in a response. */
export const faultLimit = 100;

/** Reads bodies of one operation. Throws `invalid-json`. */
export type BodyReading = (content: Uint8Array) => ReadBody;

const backslash = 0x5c;

export function createBodyReading(operation: Operation): BodyReading {
  const validate = createBodyValidator(operation);
  const holdsSecret = operation.bodyHoldsSecret !== undefined;
  const { additionalProperties, properties } = (operation.body ?? {}) as JsonSchema;
  const options = { holdsSecret, isOpen: additionalProperties === true && properties === undefined };
  return (content) => {
    if (content.length === 0) return validate(undefined);
    const value = readJson(content, options);
    // Without escapes, valid UTF-8 JSON contains neither NUL nor lone surrogates.
    const fault = content.includes(backslash) ? findTextFault(value) : undefined;
    return fault === undefined ? validate(value) : { value, unknown: [], faults: [fault] };
  };
}

/** Validates a parsed value; undefined is a missing body. */
export function createBodyValidator(operation: Operation): (value: unknown) => ReadBody {
  const schema = operation.body as JsonSchema | undefined;
  if (operation.body === undefined || schema === undefined)
    return (value) => ({ value, unknown: [], faults: [] });
  const validator = compileOnUse(bodySchemas, operation.body);
  const mayBeLeftOut = bodyIsOptional(operation);
  const nullIsAbsent = operation.method === 'POST';
  const options = { most: faultLimit, quotes: operation.bodyHoldsSecret === undefined, isFormat };
  return (input) => {
    const value = input === undefined && mayBeLeftOut ? {} : input;
    const { unknown, dropUnknown } = tidyMembers(schema, value, nullIsAbsent);
    const validate = validator();
    if (validate(value)) {
      dropUnknown();
      return { value, unknown, faults: [] };
    }
    const faults = findFaults(schema, value, options);
    return { value, unknown, faults: faults.length > 0 ? faults : [toFault(validate.errors?.[0])] };
  };
}

/** Used only if Ajv finds a fault that findFaults does not. */
export function toFault(error: ErrorObject | undefined): Fault {
  return { pointer: error?.instancePath ?? '', detail: error?.message ?? 'is not valid' };
}

const readBodies = new WeakMap<object, ReadBody>();

/** Stores the result of the body parser until the request is validated. */
export function keepReadBody(request: object, body: ReadBody): void {
  readBodies.set(request, body);
}

/** Returns the body and forgets it: it may hold a secret, and other code keeps the request. */
export function takeReadBody(request: object): ReadBody | undefined {
  const body = readBodies.get(request);
  readBodies.delete(request);
  return body;
}
