/** Runs one script as the user of this process, and writes how it ended to its output. */
import { createScriptsFixture } from './script-fixture.ts';

const fixture = createScriptsFixture();
const end = await fixture
  .run(`id -u; cat '${fixture.folder}/key'; echo done`)
  .catch((error: Error) => ({ succeeded: false, message: error.message, stdout: '' }));
console.log(JSON.stringify({ ...end, logged: fixture.logged }));
await fixture.close();
