/**
 * Attributes of SCIM resources as data (RFC 7643 §2, §7): what reads bodies, paths and filters, and what
 * `/Schemas` shows.
 */
export interface Attribute {
  name: string;
  type: 'string' | 'boolean' | 'dateTime' | 'reference' | 'complex' | 'binary';
  description: string;
  multiValued?: true;
  required?: true;
  caseExact?: true;
  mutability?: 'readOnly' | 'readWrite' | 'writeOnly' | 'immutable';
  returned?: 'always' | 'default' | 'never';
  uniqueness?: 'server';
  canonicalValues?: readonly string[];
  referenceTypes?: readonly string[];
  subAttributes?: readonly Attribute[];
}

/** The schema of a resource type with its extension. */
export interface ResourceSchema {
  type: 'User' | 'Group';
  /** The last part of its address. */
  endpoint: 'Users' | 'Groups';
  urn: string;
  description: string;
  attributes: readonly Attribute[];
  extension?: { urn: string; name: string; description: string; attributes: readonly Attribute[] };
}

/** Attributes of every resource (RFC 7643 §3.1). They belong to no schema. */
export const commonAttributes: readonly Attribute[] = [
  {
    name: 'id',
    type: 'string',
    description: 'The id that the server gave to the resource.',
    caseExact: true,
    mutability: 'readOnly',
    returned: 'always',
    uniqueness: 'server',
  },
  {
    name: 'externalId',
    type: 'string',
    description: 'The id that the client gave to the resource.',
    caseExact: true,
  },
  {
    name: 'meta',
    type: 'complex',
    description: 'What the server knows of the resource.',
    mutability: 'readOnly',
    subAttributes: [
      { name: 'resourceType', type: 'string', description: 'User or Group.', mutability: 'readOnly' },
      { name: 'created', type: 'dateTime', description: 'When it was created.', mutability: 'readOnly' },
      {
        name: 'lastModified',
        type: 'dateTime',
        description: 'When it was last changed.',
        mutability: 'readOnly',
      },
      {
        name: 'location',
        type: 'reference',
        description: 'Its address.',
        mutability: 'readOnly',
        caseExact: true,
      },
      { name: 'version', type: 'string', description: 'Its ETag.', mutability: 'readOnly', caseExact: true },
    ],
  },
  {
    name: 'schemas',
    type: 'reference',
    description: 'The URNs of its schemas.',
    multiValued: true,
    mutability: 'readOnly',
    returned: 'always',
  },
];

/** Finds an attribute by its name in any case. `$ref` is also written `ref`. */
export function findAttribute(
  attributes: readonly Attribute[] | undefined,
  name: string,
): Attribute | undefined {
  if (attributes === undefined) return undefined;
  let byName = namesOf.get(attributes);
  if (byName === undefined) {
    byName = new Map(attributes.map((each) => [each.name.toLowerCase(), each]));
    const reference = byName.get('$ref');
    if (reference !== undefined) byName.set('ref', reference);
    namesOf.set(attributes, byName);
  }
  return byName.get(name.toLowerCase());
}

/** A body has up to 300,000 names, most of them unknown if it is hostile. */
const namesOf = new WeakMap<readonly Attribute[], Map<string, Attribute>>();

export function isReadOnly({ mutability }: Attribute): boolean {
  return mutability === 'readOnly';
}

/** An attribute of a resource, and where its value is. */
export interface Located {
  attribute: Attribute;
  /** The extension that it belongs to. */
  extension: string | undefined;
  sub: Attribute | undefined;
}

/**
 * Finds `name.familyName`, `urn:…:User:userName` or `urn:…:enterprise:2.0:User:manager.value`, in any case.
 * The URN of the extension itself is not an attribute.
 */
export function locateAttribute(schema: ResourceSchema, path: string): Located | undefined {
  const { urn, rest } = splitUrn(schema, path);
  const [name = '', subName, ...more] = rest.split('.');
  if (more.length > 0) return undefined;
  const { extension } = schema;
  const own = urn === undefined || urn === schema.urn;
  let attribute = own
    ? (findAttribute(commonAttributes, name) ?? findAttribute(schema.attributes, name))
    : undefined;
  let place: string | undefined;
  // Without a URN, an attribute of the extension is found by its name too.
  if (attribute === undefined && extension !== undefined && urn !== schema.urn) {
    attribute = findAttribute(extension.attributes, name);
    place = extension.urn;
  }
  if (attribute === undefined) return undefined;
  if (subName === undefined) return { attribute, extension: place, sub: undefined };
  const sub = findAttribute(attribute.subAttributes, subName);
  return sub === undefined ? undefined : { attribute, extension: place, sub };
}

/** Splits the URN of a known schema from a path. */
export function splitUrn(schema: ResourceSchema, path: string): { urn: string | undefined; rest: string } {
  const lower = path.toLowerCase();
  for (const urn of [schema.urn, schema.extension?.urn]) {
    if (urn === undefined) continue;
    if (lower === urn.toLowerCase()) return { urn, rest: '' };
    if (lower.startsWith(`${urn.toLowerCase()}:`)) return { urn, rest: path.slice(urn.length + 1) };
  }
  return { urn: undefined, rest: path };
}
