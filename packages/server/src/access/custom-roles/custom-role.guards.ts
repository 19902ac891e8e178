/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { customRoleExamples } from './custom-role.examples.ts';

const toRoleName = (name: string) => `R_${Buffer.from(name).toString('hex').toUpperCase().slice(-40)}`;

export const customRoleGuards: SliceGuards = {
  examples: customRoleExamples,
  uniqueNames: {
    createCustomRole: ({ account }, name) =>
      account.admin.post('/custom-roles', {
        name: toRoleName(name),
        level: 'PROJECT',
        permissions: ['environment:run'],
      }),
  },
};
