import { createRoot } from 'react-dom/client';
import { Chat } from './Chat';

createRoot(document.getElementById('root')).render(<Chat id={location.hash.slice(1)} />);
