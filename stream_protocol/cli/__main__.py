from stream_protocol.cli import main

main()
