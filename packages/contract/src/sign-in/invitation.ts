/** Invitations: users that come into being when a person opens a link. */
import { type Static, Type } from 'typebox';
import { RequestedRole, ScopedRole } from '../credential/credential.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, MailAddress, Name, OpaqueId, oneOf, pageOf, pageQuery, Uuid } from '../primitives.ts';
import { UserName } from '../user/user.ts';

const mostGroups = 20;
const mostRoles = 20;
const mostMinutes = 30 * 1_440;
const defaultMinutes = 7 * 1_440;

const mailStates = ['NOT_SENT', 'PENDING', 'SENT', 'FAILED'] as const;

export const Invitation = named(
  'Invitation',
  Type.Object({
    invitationId: Uuid,
    userName: Name,
    displayName: Type.Optional(Name),
    email: Type.Optional(MailAddress),
    groupIds: Type.Array(Uuid, {
      maxItems: mostGroups,
      description: 'Groups that the user joins. A group that is deleted is left out',
    }),
    roles: Type.Array(ScopedRole, {
      maxItems: mostRoles,
      description: 'Roles that the user gets itself. Those of a deleted project or environment are left out',
    }),
    mail: oneOf(mailStates),
    mailError: Type.Optional(
      Type.String({ maxLength: 1_024, description: 'Why the last attempt to send the mail failed' }),
    ),
    createdBy: Type.String({ ...Uuid, description: 'The user or credential that created it' }),
    createdAt: DateTime,
    expiresAt: DateTime,
  }),
);
export type Invitation = Static<typeof Invitation>;
export type InvitationMail = (typeof mailStates)[number];

const invitationOperation = { surface: 'dpc', tag: 'Sign-in', permission: 'users:manage' } as const;
const path = '/v1/invitations';

export const listInvitations = operation({
  ...invitationOperation,
  id: 'listInvitations',
  method: 'GET',
  path,
  summary: 'List open invitations',
  description: 'Newest first. Accepted, deleted and expired ones are not listed; events tell of them.',
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(Invitation) },
  problems: [],
  events: [],
});

export const createInvitation = operation({
  ...invitationOperation,
  id: 'createInvitation',
  method: 'POST',
  path,
  summary: 'Invite a person',
  description:
    'The user is created when the person accepts on the page of `url`, and signs in with it. With `email` the server also sends the link by mail. ' +
    'The invitation ends when whoever created it may no longer manage users. While the account has a credential with the role DIRECTORY, users come from the directory: nobody can be invited, and open invitations cannot be accepted.',
  body: Type.Object({
    userName: UserName,
    displayName: Type.Optional(Name),
    email: Type.Optional(MailAddress),
    groupIds: Type.Optional(
      Type.Array(OpaqueId, {
        maxItems: mostGroups,
        uniqueItems: true,
        default: [],
        description: 'Groups that the user joins, with what they give',
      }),
    ),
    roles: Type.Optional(
      Type.Array(RequestedRole, {
        maxItems: mostRoles,
        default: [],
        description: 'Roles in projects and environments, for the user itself',
      }),
    ),
    validMinutes: Type.Optional(Type.Integer({ minimum: 1, maximum: mostMinutes, default: defaultMinutes })),
  }),
  success: {
    status: 201,
    body: Type.Object({
      invitationId: Uuid,
      url: Type.String({ maxLength: 2_048, description: 'Shown only in this response' }),
      expiresAt: DateTime,
    }),
    headers: ['Location'],
  },
  answerHoldsSecret: true,
  problems: [
    'super-admin-for-a-time',
    'user-name-taken',
    'invitation-taken',
    'unknown-group',
    'unknown-project',
    'unknown-environment',
    'unknown-role',
    'permissions-not-held',
    'users-from-directory',
    'too-many-invitations',
    'invitation-mail-refused',
    'sign-in-unavailable',
  ],
  events: ['invitation-created'],
});

export const deleteInvitation = operation({
  ...invitationOperation,
  id: 'deleteInvitation',
  method: 'DELETE',
  path: `${path}/{invitationId}`,
  summary: 'Withdraw an invitation',
  description: 'Its link can no longer be used, and a mail that is not yet sent is not sent.',
  params: Type.Object({ invitationId: OpaqueId }),
  success: { status: 204 },
  problems: ['invitation-not-found'],
  events: ['invitation-deleted'],
});

export const defaultInvitationMinutes = defaultMinutes;

export const invitationOperations = [listInvitations, createInvitation, deleteInvitation] as const;
