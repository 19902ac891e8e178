/** The schema of users: RFC 7643 §4.1 and §4.3. */
import { scimUrns } from '@headgate/contract';
import type { Attribute, ResourceSchema } from './scim-attribute.ts';

function text(name: string, description: string, more: Partial<Attribute> = {}): Attribute {
  return { name, type: 'string', description, ...more };
}

/** A multi-valued attribute with the sub-attributes of RFC 7643 §2.4. */
function values(name: string, description: string, more: Partial<Attribute> = {}): Attribute {
  return {
    name,
    type: 'complex',
    multiValued: true,
    description,
    subAttributes: [
      text('value', 'The value.', more),
      text('display', 'The value for display.'),
      text('type', 'A label, such as work or home.'),
      {
        name: 'primary',
        type: 'boolean',
        description: 'Whether it is the preferred value. Only one can be.',
      },
    ],
  };
}

const address: Attribute = {
  name: 'addresses',
  type: 'complex',
  multiValued: true,
  description: 'Postal addresses.',
  subAttributes: [
    text('formatted', 'The address for display.'),
    text('streetAddress', 'Street and house number.'),
    text('locality', 'The city.'),
    text('region', 'The state or region.'),
    text('postalCode', 'The postal code.'),
    text('country', 'The country, ISO 3166-1 alpha-2.'),
    text('display', 'The address for display.'),
    text('type', 'A label, such as work or home.'),
    { name: 'primary', type: 'boolean', description: 'Whether it is the preferred address.' },
  ],
};

export const userSchema: ResourceSchema = {
  type: 'User',
  endpoint: 'Users',
  urn: scimUrns.user,
  description: 'User Account',
  attributes: [
    text('userName', 'The name of the user, unique in the account. Case does not matter.', {
      required: true,
      uniqueness: 'server',
    }),
    {
      name: 'name',
      type: 'complex',
      description: 'The parts of the name.',
      subAttributes: [
        text('formatted', 'The full name.'),
        text('familyName', 'The family name.'),
        text('givenName', 'The given name.'),
        text('middleName', 'Middle names.'),
        text('honorificPrefix', 'Titles before the name.'),
        text('honorificSuffix', 'Suffixes after the name.'),
      ],
    },
    text('displayName', 'The name for display.'),
    text('nickName', 'The casual name.'),
    {
      name: 'profileUrl',
      type: 'reference',
      description: 'A page about the user.',
      referenceTypes: ['external'],
    },
    text('title', 'The job title.'),
    text('userType', 'Such as Employee or Contractor.'),
    text('preferredLanguage', 'Languages as in Accept-Language.'),
    text('locale', 'The locale, such as en-GB.'),
    text('timezone', 'The time zone, such as Europe/Oslo.'),
    {
      name: 'active',
      type: 'boolean',
      description: 'Whether the user can act. Tokens of an inactive user are refused at the next request.',
    },
    text('password', 'Accepted and not stored.', {
      mutability: 'writeOnly',
      returned: 'never',
      caseExact: true,
    }),
    values('emails', 'E-mail addresses.'),
    values('phoneNumbers', 'Phone numbers.'),
    values('ims', 'Instant messaging addresses.'),
    values('photos', 'URLs of photos.', { type: 'reference', caseExact: true, referenceTypes: ['external'] }),
    address,
    {
      name: 'groups',
      type: 'complex',
      multiValued: true,
      description: 'The groups of the user. Change the members of a group instead.',
      mutability: 'readOnly',
      subAttributes: [
        text('value', 'The id of the group.', { mutability: 'readOnly', caseExact: true }),
        {
          name: '$ref',
          type: 'reference',
          description: 'The address of the group.',
          mutability: 'readOnly',
          caseExact: true,
          referenceTypes: ['Group'],
        },
        text('display', 'The displayName of the group.', { mutability: 'readOnly' }),
        text('type', 'DIRECT.', { mutability: 'readOnly', canonicalValues: ['DIRECT'] }),
      ],
    },
    values('entitlements', 'Entitlements. They give no permission here.'),
    values('roles', 'Roles in the directory. They give no permission here; groups do.'),
    values('x509Certificates', 'Certificates, DER in Base64.', { type: 'binary', caseExact: true }),
  ],
  extension: {
    urn: scimUrns.enterpriseUser,
    name: 'EnterpriseUser',
    description: 'The enterprise extension.',
    attributes: [
      text('employeeNumber', 'The number of the employee.'),
      text('costCenter', 'The cost center.'),
      text('organization', 'The organization.'),
      text('division', 'The division.'),
      text('department', 'The department.'),
      {
        name: 'manager',
        type: 'complex',
        description: 'The manager of the user.',
        subAttributes: [
          text('value', 'The id of the manager.', { caseExact: true }),
          {
            name: '$ref',
            type: 'reference',
            description: 'The address of the manager.',
            caseExact: true,
            referenceTypes: ['User'],
          },
          text('displayName', 'The displayName of the manager.'),
        ],
      },
    ],
  },
};
