/** What the service says of itself (RFC 7644 §4, RFC 7643 §5 to §7). */
import { bulkOperationLimit, scimPageLimit, scimUrns } from '@headgate/contract';
import { groupSchema } from './group-schema.ts';
import type { Attribute, ResourceSchema } from './scim-attribute.ts';
import { userSchema } from './user-schema.ts';

const schemaUrn = 'urn:ietf:params:scim:schemas:core:2.0:Schema';
const typeUrn = 'urn:ietf:params:scim:schemas:core:2.0:ResourceType';
const configUrn = 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig';

const bulkPayloadLimit = 16 * 1_024 * 1_024;

export function describeService(base: string) {
  return {
    schemas: [configUrn],
    documentationUri: new URL('/docs', base).href,
    patch: { supported: true },
    bulk: { supported: true, maxOperations: bulkOperationLimit, maxPayloadSize: bulkPayloadLimit },
    filter: { supported: true, maxResults: scimPageLimit },
    changePassword: { supported: false },
    sort: { supported: true },
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'OAuth bearer token',
        description:
          'A token of POST /oauth/dpc/token, for a credential with the role DIRECTORY or SUPER_ADMIN.',
        specUri: 'https://www.rfc-editor.org/info/rfc6750',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  };
}

function describeType(base: string, { type, endpoint, urn, description, extension }: ResourceSchema) {
  return {
    schemas: [typeUrn],
    id: type,
    name: type,
    endpoint: `/${endpoint}`,
    description,
    schema: urn,
    ...(extension === undefined ? {} : { schemaExtensions: [{ schema: extension.urn, required: false }] }),
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${type}` },
  };
}

export function listResourceTypes(base: string) {
  return [userSchema, groupSchema].map((schema) => describeType(base, schema));
}

function describeAttribute(attribute: Attribute): object {
  const { name, type, description, subAttributes, canonicalValues, referenceTypes } = attribute;
  const isText = type !== 'boolean' && type !== 'complex' && type !== 'dateTime';
  return {
    name,
    type,
    multiValued: attribute.multiValued ?? false,
    description,
    required: attribute.required ?? false,
    ...(isText ? { caseExact: attribute.caseExact ?? false } : {}),
    ...(canonicalValues === undefined ? {} : { canonicalValues }),
    ...(referenceTypes === undefined ? {} : { referenceTypes }),
    mutability: attribute.mutability ?? 'readWrite',
    returned: attribute.returned ?? 'default',
    ...(type === 'complex' ? {} : { uniqueness: attribute.uniqueness ?? 'none' }),
    ...(subAttributes === undefined ? {} : { subAttributes: subAttributes.map(describeAttribute) }),
  };
}

interface DescribedSchema {
  urn: string;
  name: string;
  description: string;
  attributes: readonly Attribute[];
}

export function listSchemas(base: string) {
  const all: DescribedSchema[] = [userSchema, groupSchema].flatMap((schema) => [
    { ...schema, name: schema.type },
    ...(schema.extension === undefined ? [] : [schema.extension]),
  ]);
  return all.map(({ urn, name, description, attributes }) => ({
    schemas: [schemaUrn],
    id: urn,
    name,
    description,
    attributes: attributes.map(describeAttribute),
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${urn}` },
  }));
}

export function renderDescriptions(resources: object[]) {
  return {
    schemas: [scimUrns.list],
    totalResults: resources.length,
    startIndex: 1,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}
