// Starts a server process as mailjoin does, tells its pid, and then ends as the test asks: it is the parent that dies.
import { ServiceProcess } from '../../dist/provision/service-process.js';

const [folder, ending] = process.argv.slice(2);
const service = await ServiceProcess.start({
  name: 'server',
  program: '/bin/sh',
  args: ['-c', 'exec sleep 600'],
  environment: process.env,
  workingFolder: folder,
  logPath: `${folder}/server.log`,
  temporaryFolder: folder,
});
process.stdout.write(`${service.pid}\n`, () => {
  if (ending === 'throw') throw new Error('a crash');
  if (ending === 'end') return;
  if (ending === 'exit') process.exit(0);
  setInterval(() => {}, 1_000);
});
