/**
 * From the definition in a request to the one that is stored and shown: the members of its kind of source and
 * target, references to secrets, and properties as strings. Pure.
 */
import {
  type StreamingPipelineBody,
  type StreamingSource,
  type StreamingTarget,
  streamingSourceRequests,
  streamingSourceTypes,
  streamingTargetRequests,
  streamingTargetTypes,
} from '@headgate/contract';
import { isPlainObject, type JsonSchema } from '../../kernel/http/json-schema.ts';
import { problem } from '../../kernel/http/problems.ts';
import { findWord } from '../../kernel/http/words.ts';

export interface Definition {
  source: StreamingSource;
  target: StreamingTarget;
  advancedProperties: Record<string, string> | null;
}

/** Throws `streaming-definition`. */
export function readDefinition(body: StreamingPipelineBody): Definition {
  const { streamingSource, streamingTarget, advancedProperties } = body;
  const sourceType = findKind(streamingSourceTypes, streamingSource.type);
  const targetType = findKind(streamingTargetTypes, streamingTarget.type);
  const source = readMembers(streamingSourceRequests[sourceType] as JsonSchema, streamingSource, {
    field: 'body.streamingSource',
    kind: `a ${sourceType} source`,
  });
  const target = readMembers(streamingTargetRequests[targetType] as JsonSchema, streamingTarget, {
    field: 'body.streamingTarget',
    kind: `a ${targetType} target`,
  });
  return {
    source: { ...source, type: sourceType } as StreamingSource,
    target: { ...target, type: targetType },
    advancedProperties:
      advancedProperties === undefined ? null : readProperties(advancedProperties, 'body.advancedProperties'),
  };
}

/** The schema has checked the word. */
function findKind<Kind extends string>(kinds: readonly Kind[], input: string): Kind {
  const found = findWord(kinds, input);
  if (found === undefined) throw new Error(`The schema takes the type ${input}, which has no members.`);
  return found;
}

interface Place {
  /** The path in the request. */
  field: string;
  /** The kind of source or target, for messages. */
  kind: string;
}

function readMember(schema: JsonSchema, value: unknown, place: Place): unknown {
  const { items, additionalProperties, properties } = schema;
  if (Array.isArray(value) && items !== undefined)
    return value.map((each, index) =>
      readMember(items, each, { ...place, field: `${place.field}[${index}]` }),
    );
  if (!isPlainObject(value)) return value;
  if (additionalProperties !== undefined) return readProperties(value, place.field);
  return properties?.secretType === undefined
    ? readMembers(schema, value, place)
    : readSecret(value, place.field);
}

/** Validation has removed what no kind has: the rest are members of this kind or of another. */
function readMembers(
  { properties = {} }: JsonSchema,
  value: object,
  { field, kind }: Place,
): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(value)) {
    // Generated clients send null for what a kind does not have.
    if (each === null) continue;
    const member = properties[name];
    if (member === undefined)
      throw problem('streaming-definition', {
        field: `${field}.${name}`,
        reason: `is not a member of ${kind}; remove it, or change the type`,
      });
    members[name] = readMember(member, each, { field: `${field}.${name}`, kind });
  }
  return members;
}

/** `key` is another name of `secretKey`; both are shown. */
function readSecret({ key, secretKey, ...rest }: Record<string, unknown>, field: string) {
  if (key !== undefined && secretKey !== undefined && key !== secretKey)
    throw problem('streaming-definition', {
      field: `${field}.key`,
      reason: 'differs from `secretKey`, which is another name of the same member; send one of them',
    });
  const chosen = secretKey ?? key;
  return chosen === undefined ? rest : { ...rest, secretKey: chosen, key: chosen };
}

function readProperties(input: object, field: string): Record<string, string> {
  const read = Object.entries(input).map(([name, value]) => {
    const text = String(value);
    if (isPlainSecret(name, text))
      throw problem('streaming-definition', {
        field: `${field}.${name}`,
        reason:
          'is a secret, and a definition holds none. Remove it: store the secret in a vault, and name it by the reference of the connection, such as `password` or `privateKey`',
      });
    return [name, text] as const;
  });
  return Object.fromEntries(read);
}

const secretEnding =
  /(?:password|passwd|pwd|passphrase|secret|secretkey|privatekey|privatekeybase64|accesskey|accountkey|apikey|token)$/;

/** By its name. A switch such as `"useToken": "true"` is none. */
function isPlainSecret(name: string, text: string): boolean {
  if (text === '' || /^(?:true|false)$/i.test(text)) return false;
  return secretEnding.test(name.toLowerCase().replaceAll(/[^a-z0-9]/g, ''));
}
