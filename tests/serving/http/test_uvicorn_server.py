import socket

from stream_protocol.serving.http._uvicorn_server import bind_socket


def test_a_chunk_does_not_wait_until_the_one_before_is_acknowledged() -> None:
    with bind_socket("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
