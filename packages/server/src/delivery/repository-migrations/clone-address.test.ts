import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSameRepository, parseCloneAddress } from './clone-address.ts';

const github = 'https://github.com/acme/weather.git';
const azure = 'https://dev.azure.com/acme/north/_git/weather';

const same: readonly (readonly [string, string])[] = [
  [github, 'https://GitHub.com/acme/weather'],
  [github, 'https://github.com:443/Acme/Weather.git/'],
  [github, 'https://www.github.com//acme/weather'],
  [github, 'https://github.com./acme/we%61ther.git'],
  [github, ' https://github.com/acme/./weather '],
  ['http://git.example.com:80/a/b', 'http://git.example.com/a/b.git'],
  ['https://gitlab.com/g/s/p', 'https://gitlab.com/G/S/P.git'],
  ['https://h.example/caf%C3%A9', 'https://h.example/cafe%CC%81.git'],
  [azure, 'https://acme@dev.azure.com/acme/north/_git/weather'],
  [azure, 'https://acme.visualstudio.com/north/_git/weather'],
  [azure, 'https://acme.visualstudio.com/DefaultCollection/North/_git/Weather'],
  ['https://dev.azure.com/acme/weather/_git/weather', 'https://dev.azure.com/acme/_git/weather'],
];
for (const [one, other] of same)
  test(`${other} is the repository ${one}`, () => assert.ok(isSameRepository(one, other)));

const different: readonly (readonly [string, string])[] = [
  [github, 'https://github.com/acme/weather2'],
  [github, 'https://github.com:8443/acme/weather.git'],
  ['https://git.example.com/a', 'http://git.example.com/a'],
  ['https://h.example/a%2Fb', 'https://h.example/a%252Fb'],
  [azure, 'https://dev.azure.com/acme/_git/weather'],
  [azure, 'https://dev.azure.com/other/north/_git/weather'],
];
for (const [one, other] of different)
  test(`${other} is not the repository ${one}`, () => assert.ok(!isSameRepository(one, other)));

const refused: readonly (readonly [string, RegExp])[] = [
  ['git@github.com:acme/weather.git', /SSH address.* use .* https:\/\/github\.com\/acme\/weather\.git/],
  ['ssh://git@gitlab.example.com:2222/a/b.git', /https:\/\/gitlab\.example\.com\/a\/b\.git/],
  ['git@ssh.dev.azure.com:v3/acme/north/weather', /https:\/\/dev\.azure\.com\/acme\/north\/_git\/weather/],
  ['git://github.com/acme/weather', /begins with git:/],
  ['file:///etc/passwd', /begins with file:/],
  ['ext::sh -c whoami', /use an https address/],
  ['/srv/git/weather', /is not an address/],
  ['github.com/acme/weather', /is not an address/],
  ['--upload-pack=x', /is not an address/],
  ['https://token@github.com/acme/weather', /user or password/],
  ['https://acme:token@dev.azure.com/acme/north/_git/weather', /user or password/],
  ['https://x:y@github.com/acme/weather', /user or password/],
  ['https://github.com/', /no repository/],
  ['https://github.com/acme/weather?x=1', /query or fragment/],
  ['https://github.com/acme/weather#main', /query or fragment/],
];
for (const [address, reason] of refused)
  test(`${address} is refused with the remedy`, () =>
    assert.throws(() => parseCloneAddress(address), { name: 'CloneAddressRefused', message: reason }));

test('an address of an earlier release that names a host only is no repository', () => {
  assert.equal(isSameRepository('https://github.com/', 'https://github.com/acme/weather'), false);
});

test('what git is given has no user, and one encoding', () => {
  const { url } = parseCloneAddress('https://acme@dev.azure.com/acme/my project/_git/weather/');
  assert.equal(url, 'https://dev.azure.com/acme/my%20project/_git/weather');
});
