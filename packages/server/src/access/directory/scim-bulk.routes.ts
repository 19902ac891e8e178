/** /Bulk. */
import { bulkScim } from '@headgate/contract';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { userSchema } from './schema/user-schema.ts';
import { describeWrite } from './write/directory-write.ts';
import { runBulk } from './write/scim-bulk.ts';
import { type DirectoryNeeds, runDirectoryWrite } from './write/scim-write.ts';

export function scimBulkRoutes({ long }: Endpoints, needs: DirectoryNeeds): void {
  long(bulkScim, (call) =>
    runDirectoryWrite(needs, userSchema, call, async (write) => {
      const { result, written } = await runBulk(write, call.body);
      return describeWrite(200, '', {
        resource: result as never,
        events: written.flatMap(({ events }) => events),
        added: written.flatMap(({ added }) => added),
        removed: written.flatMap(({ removed }) => removed),
        users: written.flatMap(({ users }) => users),
        groups: written.flatMap(({ groups }) => groups),
      });
    }),
  );
}
