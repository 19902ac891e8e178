/** The schema of groups: RFC 7643 §4.2, and what a group gives. */
import { scimUrns } from '@headgate/contract';
import type { ResourceSchema } from './scim-attribute.ts';

export const groupSchema: ResourceSchema = {
  type: 'Group',
  endpoint: 'Groups',
  urn: scimUrns.group,
  description: 'A group of users. It can give a role to its active members.',
  attributes: [
    {
      name: 'displayName',
      type: 'string',
      description: 'The name of the group, unique in the account. Case does not matter.',
      required: true,
      uniqueness: 'server',
    },
    {
      name: 'members',
      type: 'complex',
      multiValued: true,
      description: 'The members: users of the account.',
      subAttributes: [
        {
          name: 'value',
          type: 'string',
          description: 'The id of the user.',
          mutability: 'immutable',
          caseExact: true,
        },
        {
          name: '$ref',
          type: 'reference',
          description: 'The address of the user.',
          mutability: 'immutable',
          caseExact: true,
          referenceTypes: ['User'],
        },
        {
          name: 'display',
          type: 'string',
          description: 'The displayName or userName of the user.',
          mutability: 'readOnly',
        },
        {
          name: 'type',
          type: 'string',
          description: 'USER.',
          mutability: 'immutable',
          canonicalValues: ['USER'],
        },
      ],
    },
    {
      name: 'role',
      type: 'string',
      description:
        'The role that the group gives: in the environment, if it names one, else in the project, else in the account.',
      canonicalValues: [
        'SUPER_ADMIN',
        'ADMIN',
        'BILLING_ADMIN',
        'MEMBER',
        'OWNER',
        'CONTRIBUTOR',
        'OPERATOR',
        'VIEWER',
      ],
    },
    { name: 'projectId', type: 'string', description: 'The id of the project of the role.' },
    {
      name: 'projectName',
      type: 'string',
      description: 'The name of the project of the role.',
      caseExact: true,
    },
    {
      name: 'environment',
      type: 'string',
      description: 'The environment of the role, in the project.',
      caseExact: true,
    },
    { name: 'accountId', type: 'string', description: 'The id of the account.', mutability: 'readOnly' },
    { name: 'accountName', type: 'string', description: 'The name of the account.', mutability: 'readOnly' },
  ],
};
