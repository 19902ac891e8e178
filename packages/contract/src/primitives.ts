/**
 * The building blocks of every shape: identifiers, names, times and pages, each with its bound. `x-form` says
 * in words what a pattern asks for. Requests and responses use the same primitives but never the same objects.
 */
import { type Static, type TSchema, Type } from 'typebox';
import { descriptionLimit, nameLimit } from './limits.ts';
import { named, namedOnce, nameOf } from './named-schema.ts';

/** The form of a project's identifier. */
export const projectIdPattern = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$';
export const variableNamePattern = '^(?!\\$$)[a-zA-Z_$][a-zA-Z0-9_$]*$';
export const environmentNameForm = /^(?!-)[\w() -]{1,255}(?<!-)$/;

export const pageSizeLimit = 100;
export const pageSizeDefault = 25;

export const ProjectId = named(
  'ProjectId',
  Type.String({
    pattern: projectIdPattern,
    'x-form': 'a UUID in lower case such as 0198c2f4-5d1e-7c3a-9b42-6f0e8d7c1a23',
    maxLength: 36,
    description: 'The id of the project',
  }),
);
export const VariableName = named(
  'VariableName',
  Type.String({
    minLength: 1,
    maxLength: nameLimit,
    pattern: variableNamePattern,
    'x-form': 'a name of letters, digits, _ and $ that does not begin with a digit, such as load_date',
  }),
);
export const EnvironmentName = named(
  'EnvironmentName',
  Type.String({
    minLength: 1,
    maxLength: nameLimit,
    pattern: environmentNameForm.source,
    'x-form':
      'a name of letters, digits, spaces, _, -, ( and ) that neither begins nor ends with -, such as prod',
  }),
);
/**
 * How often an environment of this name was created in its project; absent means 1. The data of an environment on its
 * agent is named by it.
 */
export const Generation = Type.Optional(Type.Integer({ minimum: 1 }));
export const VersionName = named(
  'VersionName',
  Type.String({
    minLength: 1,
    maxLength: nameLimit,
    pattern: '^(?! )[^\\u0000-\\u001f\\u007f]+(?<! )$',
    'x-form': 'a name without control characters and without leading or trailing spaces, such as 1.4.0',
    description:
      'The name of an artifact version, without control characters and without leading or trailing spaces',
  }),
);
/**
 * An identifier in a request. One that is unknown is 404, or 422 in a body. Identifiers of this service are in lower
 * case: a UUID with letters in upper case is 400 wherever it stands, as it is for a project.
 */
export const OpaqueId = Type.String({ minLength: 1, maxLength: nameLimit, format: 'id' });
/** The same where an empty text means none. */
export const IdOrNone = Type.String({ maxLength: nameLimit, format: 'id' });
export const Name = Type.String({ minLength: 1, maxLength: nameLimit });
export const Description = Type.String({ maxLength: descriptionLimit });
export const DateTime = named(
  'DateTime',
  Type.String({
    format: 'date-time',
    maxLength: 40,
    description: 'ISO 8601 in UTC with milliseconds, for example 2026-11-21T09:30:00.000Z',
  }),
);
export const Uuid = Type.String({ format: 'uuid', maxLength: 36 });

/** Plain: no character has a meaning in the headers of a mail. */
export const mailAddressForm =
  /^(?=[^@]{1,64}@)[A-Za-z0-9_+=~-]+(\.[A-Za-z0-9_+=~-]+)*@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9][A-Za-z0-9-]{0,61}[A-Za-z0-9]$/;
export const MailAddress = named(
  'MailAddress',
  Type.String({
    maxLength: 320,
    pattern: mailAddressForm.source,
    'x-form': 'a plain e-mail address without a name, such as on-call@example.com',
  }),
);

/** A larger `size` is capped at 100, not refused. */
export const pageQuery = {
  page: Type.Integer({
    minimum: 0,
    maximum: 10_000_000,
    default: 0,
    description: 'The page number, from 0',
  }),
  size: Type.Integer({
    minimum: 1,
    default: pageSizeDefault,
    description: 'The number of items on a page. A value above 100 means 100',
  }),
};

/** The paged list wrapper. */
export function pageOf<Item extends TSchema>(item: Item) {
  return namedPage(item, () =>
    Type.Object({
      page: Type.Integer({ minimum: 0 }),
      results: Type.Array(item, { maxItems: pageSizeLimit }),
      size: Type.Integer({ minimum: 1, maximum: pageSizeLimit, description: 'The page size that was used' }),
      total: Type.Integer({ minimum: 0 }),
    }),
  );
}

/** The page of an item with a name is named after it: `Project`, `ProjectPage`. */
function namedPage<Paged extends TSchema>(item: TSchema, make: () => Paged): Paged {
  const name = nameOf(item);
  return name === undefined ? make() : namedOnce(`${name}Page`, make);
}

export interface Page<Item> {
  page: number;
  results: Item[];
  size: number;
  total: number;
}

/** `limit` is capped at 100; `more` is sent next as `paginationToken`. */
export const tokenQuery = {
  limit: Type.Integer({
    minimum: 1,
    default: pageSizeDefault,
    description: 'The number of items in the response. A value above 100 means 100',
  }),
  paginationToken: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1_024,
      description: 'The value of `more` in the previous response',
    }),
  ),
};

export function tokenPageOf<Item extends TSchema>(item: Item) {
  return namedPage(item, () =>
    Type.Object({
      results: Type.Array(item, { maxItems: pageSizeLimit }),
      more: Type.Optional(
        Type.String({
          maxLength: 1_024,
          description: 'Send it as `paginationToken` to get the next items. Absent at the end of the list',
        }),
      ),
    }),
  );
}

/** A closed set of words as a string enum of JSON Schema. */
export function oneOf<const Word extends string>(
  words: readonly Word[],
  options: { description?: string } = {},
) {
  return Type.Unsafe<Word>(Type.String({ enum: [...words], ...options }));
}

/**
 * A closed set of words in any case, also with a space or another hyphen between their parts. `x-words` lists
 * them: for faults, and to tell the alternatives of a union apart. Responses have a word as it was written.
 */
export function oneOfAnyCase(words: readonly string[], options: { description?: string } = {}) {
  return Type.String({
    maxLength: 50,
    pattern: `^(?:${words.map(renderAnyCase).join('|')})$`,
    'x-words': [...words],
    'x-form': `one of ${words.join(', ')}, in any case`,
    description: `${words.join(', ')}; not case-sensitive`,
    ...options,
  });
}

function renderAnyCase(word: string): string {
  return word.replaceAll(/[a-z]|[-_ ]/gi, (letter) =>
    /[a-z]/i.test(letter) ? `[${letter.toLowerCase()}${letter.toUpperCase()}]` : '[-_ ]',
  );
}

/** A map whose keys the caller chooses, bounded in number and in length of the key. */
export function mapOf<Value extends TSchema>(
  value: Value,
  options: { maxProperties: number; description?: string },
) {
  return Type.Unsafe<Record<string, Static<Value>>>({
    type: 'object',
    additionalProperties: value,
    propertyNames: { minLength: 1, maxLength: nameLimit },
    ...options,
  });
}

/** Names the state that a person has looked at, for an operation that acts on it. */
export const SeenDigest = Type.String({
  maxLength: 64,
  pattern: '^[0-9a-f]{64}$',
  'x-form': '64 hexadecimal digits in lower case, as a response gives them',
});
export const seenHeader = Type.Object({
  'If-Match': Type.Optional(
    Type.String({ maxLength: 1_000, description: 'The same as `digest` in the body, in double quotes' }),
  ),
});

/** Optimistic concurrency (RFC 9110 §13.1.1): write only if the resource still has one of these ETags. */
export const ifMatchHeader = Type.Object({
  'If-Match': Type.Optional(
    Type.String({
      maxLength: 1_000,
      description: 'Write only if the current ETag of the resource is one of these',
    }),
  ),
});
